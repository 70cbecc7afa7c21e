// The editor: a text with findings in it.
import { duologue } from "./language.mjs";

const {
  EditorState, EditorView, bracketMatching, defaultKeymap, highlightActiveLine, history: changes, historyKeymap, indentUnit, keymap, lineNumbers,
  lintGutter, lintKeymap, setDiagnostics,
} = CodeMirror;

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--paper)", fontSize: "14px" },
  ".cm-gutters": { color: "var(--soft)", backgroundColor: "var(--shade)", border: "none" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLineGutter": { color: "var(--text)", backgroundColor: "transparent" },
  ".cm-tooltip, .cm-panels": { color: "var(--text)", backgroundColor: "var(--shade)", border: "1px solid var(--line)" },
  "&.cm-focused": { outline: "2px solid var(--now)", outlineOffset: "-2px" },
});

// `changed` is called after each change that a person makes.
export function editor(parent, changed) {
  const extensions = [
    lineNumbers(), changes(), bracketMatching(), highlightActiveLine(), lintGutter(), duologue, look, indentUnit.of("    "),
    // Tab moves to the next control, as everywhere on a page.
    keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
    EditorView.contentAttributes.of({ "aria-label": "Protocol file", spellcheck: "false", tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) changed();
    }),
  ];
  const view = new EditorView({ parent });
  return {
    text: () => view.state.doc.toString(),
    // Another file, without a history.
    open: (doc) => view.setState(EditorState.create({ doc, extensions })),
    // The same file with another text, which can be undone.
    replace: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    change: (changes) => view.dispatch({ changes }),
    mark: (diagnostics) => view.dispatch(setDiagnostics(view.state, diagnostics)),
    goTo(from, to) {
      const most = view.state.doc.length;
      const selection = { anchor: Math.min(from, most), head: Math.min(to, most) };
      view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
      view.focus();
    },
  };
}
