<<<<<<<< HEAD:apps/console/built/assets/act-BAvDo27M.js
import{p as e}from"./page-DsFrFNsQ.js";import{t}from"./jsx-runtime-DyZJNswf.js";var n=t();function r({scope:t=`read`,kind:r=``,disabled:i=!1,onPress:a,children:o,label:s,title:c}){let{may:l,why:u}=e(t),d=!l||i;return(0,n.jsx)(`button`,{type:`button`,className:`b ${r}`,"aria-disabled":d||void 0,title:u??c,"aria-label":s,onClick:()=>d||a(),children:o})}export{r as t};
========
import{p as e}from"./page-CGIp7awc.js";import{t}from"./jsx-runtime-DyZJNswf.js";var n=t();function r({scope:t=`read`,kind:r=``,disabled:i=!1,onPress:a,children:o,label:s,title:c}){let{may:l,why:u}=e(t),d=!l||i;return(0,n.jsx)(`button`,{type:`button`,className:`b ${r}`,"aria-disabled":d||void 0,title:u??c,"aria-label":s,onClick:()=>d||a(),children:o})}export{r as t};
>>>>>>>> find:apps/console/built/assets/act-i6wFZB2s.js
