export { bashTool } from './builtin/bash.ts';
export { editTool, readTool, writeTool } from './builtin/files.ts';
export { globTool, grepTool } from './builtin/search.ts';
export { TODO_LIST, type TodoItem, todoTool } from './builtin/todo.ts';
