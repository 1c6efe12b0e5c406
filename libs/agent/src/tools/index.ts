export { bashTool } from './builtin/bash.ts';
export { editTool } from './builtin/edit.ts';
export { globTool } from './builtin/glob.ts';
export { grepTool } from './builtin/grep.ts';
export { readTool } from './builtin/read.ts';
export { TODO_LIST, type TodoItem, todoTool } from './builtin/todo.ts';
export { writeTool } from './builtin/write.ts';
