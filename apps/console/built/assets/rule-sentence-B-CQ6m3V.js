<<<<<<<< HEAD:apps/console/built/assets/rule-sentence-B-CQ6m3V.js
import{T as e}from"./times-Cs-jlOzL.js";import{n as t}from"./rule-words-BiOB1ZMP.js";import{t as n}from"./jsx-runtime-DyZJNswf.js";var r=n();function i({rule:n}){let i=e(t(n));return(0,r.jsx)(`span`,{className:`rule-sentence clip`,title:i,children:i})}export{i as t};
========
import{T as e}from"./times-CAy19GQv.js";import{n as t}from"./rule-words-BiOB1ZMP.js";import{t as n}from"./jsx-runtime-DyZJNswf.js";var r=n();function i({rule:n}){let i=e(t(n));return(0,r.jsx)(`span`,{className:`rule-sentence clip`,title:i,children:i})}export{i as t};
>>>>>>>> find:apps/console/built/assets/rule-sentence-CgE7z4JU.js
