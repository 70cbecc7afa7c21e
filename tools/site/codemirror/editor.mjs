// What the playground uses of CodeMirror.
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { StreamLanguage, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { c, scala } from "@codemirror/legacy-modes/mode/clike";
export { rust } from "@codemirror/legacy-modes/mode/rust";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { EditorState } from "@codemirror/state";
export { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
export { highlightCode, tagHighlighter, tags } from "@lezer/highlight";
