;;; duologue-mode.el --- Protocols between two parties  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: languages
;; URL: https://github.com/duologue/duologue

;;; Commentary:

;; A major mode for the protocol files of Duologue: colors, indentation, Imenu, and the language server through Eglot.
;;
;;     (add-to-list 'load-path "duologue/editors/emacs")
;;     (require 'duologue-mode)
;;     (add-hook 'duologue-mode-hook #'eglot-ensure)
;;
;; Files that end in .duo are Duologue's.  A file that ends in .proto is if its text says so.

;;; Code:

(defgroup duologue nil
  "Protocols between two parties."
  :group 'languages)

(defcustom duologue-program "duologue"
  "The program whose command `lsp' is the language server."
  :type 'string
  :group 'duologue)

(defcustom duologue-indent-offset 4
  "How many columns an open bracket indents."
  :type 'integer
  :safe #'integerp
  :group 'duologue)

(defvar duologue-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 124b" table)
    ;; Block comments nest.
    (modify-syntax-entry ?* ". 23n" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "_" table)
    (dolist (sign '(?< ?> ?! ?~ ?? ?+ ?= ?- ?# ?: ?\; ?,))
      (modify-syntax-entry sign "." table))
    table)
  "What the characters mean in `duologue-mode'.")

(defconst duologue--name "[A-Za-z_][A-Za-z0-9_]*"
  "What a name looks like.")

(defconst duologue--builtin
  (concat "\\_<" (regexp-opt '("bool" "bytes" "str" "int" "uint" "float" "u8" "u16" "u32" "u64"
                               "i8" "i16" "i32" "i64" "f32" "f64") t)
          "\\_>")
  "The built-in types.")

(defun duologue--in-payload (limit)
  "Search up to LIMIT for a name in a payload that no other rule has colored."
  (let (found)
    (while (and (not found) (re-search-forward (concat "\\_<" duologue--name "\\_>") limit t))
      (let ((state (save-match-data (save-excursion (syntax-ppss (match-beginning 0))))))
        (setq found (and (not (nth 8 state))
                         (nth 1 state)
                         (eq (char-after (nth 1 state)) ?\()
                         (save-match-data (not (looking-at "[ \t]*\\(->\\|{\\)")))))))
    found))

;; No word is reserved, so a keyword is one only where it has a meaning.
(defconst duologue-font-lock-keywords
  (let ((name duologue--name))
    `((,(concat "\\_<\\(proto\\)[ \t]*\\(!\\)[ \t]*\\(" name "\\)?\\(?:[ \t]*=[ \t]*\\(" name "\\)\\)?")
       (1 font-lock-keyword-face)
       (2 font-lock-keyword-face)
       (3 font-lock-type-face nil t)
       (4 font-lock-type-face nil t))
      (,(concat "^[ \t]*\\(struct\\|enum\\)[ \t]+\\(" name "\\)[ \t]*\\(?:{\\|$\\)")
       (1 font-lock-keyword-face)
       (2 font-lock-type-face))
      (,(concat "\\_<\\(type\\)[ \t]+\\(" name "\\)[ \t]*=[ \t]*\\(" name "\\)?")
       (1 font-lock-keyword-face)
       (2 font-lock-type-face)
       (3 font-lock-type-face nil t))
      (,(concat "\\_<\\(extern\\)[ \t]+\\(type\\|bound\\)[ \t]+\\(" name "\\)")
       (1 font-lock-keyword-face)
       (2 font-lock-keyword-face)
       (3 font-lock-type-face))
      (,(concat "^[ \t]*\\(package\\)[ \t]+\\(" name "\\(?:[ \t]*\\.[ \t]*" name "\\)*\\)[ \t]*;")
       (1 font-lock-keyword-face)
       (2 font-lock-constant-face))
      ("^[ \t]*\\(import\\)[ \t]*\"" (1 font-lock-keyword-face))
      ("\\_<\\(rust\\|c\\|scala\\)[ \t]*=[ \t]*\"" (1 font-lock-keyword-face))
      ("\\_<\\(from\\|drop\\)[ \t]*\"" (1 font-lock-keyword-face))
      ("#[ \t]*\\[[ \t]*\\(allow\\|warn\\|deny\\|dual_of\\|at_most\\|within\\|accepts\\)\\_>"
       (1 font-lock-preprocessor-face)
       ("[A-Za-z0-9_-]+" (save-excursion (if (search-forward "]" (line-end-position) t) (point) (line-end-position)))
        nil (0 font-lock-constant-face)))
      ;; A state.
      (,(concat "\\_<\\(" name "\\)[ \t]*:[ \t]*\\(send\\|recv\\)\\_>[ \t]*\\(?:[{<]\\|$\\)")
       (1 font-lock-function-name-face)
       (2 font-lock-keyword-face))
      (,(concat "\\_<\\(" name "\\)[ \t]*{") (1 font-lock-function-name-face))
      ;; What follows a message.
      (,(concat "->[ \t]*\\(" name "\\)") (1 font-lock-function-name-face))
      ("->[ \t]*\\(!\\)" (1 font-lock-keyword-face))
      (,(concat "\\_<\\(" name "\\)[ \t]*::[ \t]*\\(client\\|server\\)[ \t]*::[ \t]*\\(" name "\\)")
       (1 font-lock-type-face)
       (2 font-lock-keyword-face)
       (3 font-lock-function-name-face))
      ;; A message.
      (,(concat "\\_<\\(" name "\\)[ \t]*\\(?:(\\|->\\)") (1 font-lock-builtin-face))
      ;; An entry or a field.
      (,(concat "\\_<\\(" name "\\)[ \t]*:\\(?:[^:]\\|$\\)") (1 font-lock-variable-name-face))
      (,duologue--builtin (1 font-lock-type-face))
      (,(concat ":[ \t]*\\(" name "\\)") (1 font-lock-type-face))
      (,(concat "[[<~+][ \t]*\\(" name "\\)") (1 font-lock-type-face))
      (duologue--in-payload (0 font-lock-type-face))))
  "How `duologue-mode' colors.")

(defun duologue--syntactic-face (state)
  "The face of the string or comment that STATE describes."
  (cond
   ((nth 3 state) 'font-lock-string-face)
   ((save-excursion
      (goto-char (nth 8 state))
      (looking-at "///\\(?:[^/]\\|$\\)\\|//!"))
    'font-lock-doc-face)
   (t 'font-lock-comment-face)))

(defun duologue--indentation ()
  "The column that the current line should be indented to."
  (save-excursion
    (back-to-indentation)
    (let ((open (nth 1 (syntax-ppss))))
      (if (not open)
          0
        (let ((is-closing (looking-at "[])}]")))
          (goto-char open)
          (back-to-indentation)
          (+ (current-column) (if is-closing 0 duologue-indent-offset)))))))

(defun duologue-indent-line ()
  "Indent the current line by the bracket that is open before it."
  (interactive)
  (let ((from-end (- (point-max) (point))))
    (indent-line-to (duologue--indentation))
    (when (> (- (point-max) from-end) (point))
      (goto-char (- (point-max) from-end)))))

(defconst duologue-imenu-generic-expression
  (let ((name duologue--name))
    `((nil ,(concat "^[ \t]*proto[ \t]*![ \t]*\\(" name "\\)") 1)
      ("States" ,(concat "^[ \t]*\\(" name "\\)[ \t]*:[ \t]*\\(?:send\\|recv\\)\\_>") 1)
      ("Types" ,(concat "^[ \t]*\\(?:type\\|struct\\|enum\\|extern[ \t]+\\(?:type\\|bound\\)\\)[ \t]+\\(" name "\\)") 1)))
  "What `imenu' lists in `duologue-mode'.")

;;;###autoload
(define-derived-mode duologue-mode prog-mode "Duologue"
  "Major mode for protocols between two parties."
  (setq-local comment-start "// ")
  (setq-local comment-start-skip "\\(?://+!?\\|/\\*+\\)[ \t]*")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'duologue-indent-line)
  (setq-local electric-indent-chars (append "{}()[]" electric-indent-chars))
  (setq-local font-lock-defaults
              '(duologue-font-lock-keywords
                nil nil nil nil
                (font-lock-syntactic-face-function . duologue--syntactic-face)))
  (setq-local imenu-generic-expression duologue-imenu-generic-expression))

(defun duologue--search (regexp)
  "Whether REGEXP matches at the start of the buffer, outside of comments."
  (goto-char (point-min))
  (let ((limit (min (point-max) (+ (point-min) 65536)))
        found)
    (while (and (not found) (re-search-forward regexp limit t))
      (setq found (not (nth 8 (save-excursion
                                (parse-partial-sexp (point-min) (match-end 0)))))))
    found))

;;;###autoload
(defun duologue-is-ours ()
  "Whether the buffer's file ends in .proto and is not one of Protocol Buffers.
A file with a protocol is ours.  One without is not, unless it declares
something that only Duologue has."
  (and buffer-file-name
       (string-suffix-p ".proto" buffer-file-name)
       (save-excursion
         (with-syntax-table duologue-mode-syntax-table
           (let ((case-fold-search nil))
             (or (duologue--search "^[ \t]*\\(?:#[ \t]*\\[[^]\n]*\\][ \t]*\\)*proto[ \t]*!")
                 (and (duologue--search "^\\(?:type[ \t]+[A-Za-z0-9_]+[ \t]*=\\|struct[ \t]+[A-Za-z0-9_]+[ \t]*{\\|extern[ \t]\\)")
                      (not (duologue--search "^\\(?:\\(?:syntax\\|edition\\)[ \t]*=\\|\\(?:message\\|service\\|extend\\)[ \t]+[A-Za-z0-9_.]+[ \t]*{\\|option[ \t]\\)")))))))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.duo\\'" . duologue-mode))
;;;###autoload
(add-to-list 'magic-mode-alist '(duologue-is-ours . duologue-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               (cons 'duologue-mode (lambda (&rest _) (list duologue-program "lsp")))))

(provide 'duologue-mode)

;;; duologue-mode.el ends here
