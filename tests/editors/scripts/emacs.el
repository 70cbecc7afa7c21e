;; For Emacs: the mode of each file, and the faces and the indentation of one.  The environment has `DUOLOGUE_FOLDER', this repository, and
;; `DUOLOGUE_FILES', whose names are separated by colons.  -*- lexical-binding: t -*-

(let ((folder (getenv "DUOLOGUE_FOLDER")))
  (add-to-list 'load-path (expand-file-name "tools/editors/emacs" folder))
  (require 'duologue-mode)
  (dolist (file (split-string (getenv "DUOLOGUE_FILES") ":"))
    (with-current-buffer (find-file-noselect file)
      (princ (format "%s %s\n" (file-name-nondirectory file) major-mode))))
  (with-current-buffer (find-file-noselect (expand-file-name "tools/editors/vscode/test/everything.duo" folder))
    (font-lock-ensure)
    (goto-char (point-min))
    (while (not (eobp))
      (princ (line-number-at-pos))
      (let ((end (line-end-position)) (last 'none))
        (while (< (point) end)
          (let ((face (get-text-property (point) 'face))
                (letter (char-after)))
            (cond
             ((memq letter '(?\s ?\t)) (setq last 'none))
             ((eq face last) (princ (string letter)))
             (t
              (princ (format " %s=%s"
                             (replace-regexp-in-string "^font-lock-\\|-face$\\|-name-face$" "" (symbol-name face))
                             (string letter)))
              (setq last face))))
          (forward-char)))
      (princ "\n")
      (forward-line))
    ;; Indented from nothing, the text is what it was.
    (let ((text (buffer-string)))
      (goto-char (point-min))
      (while (re-search-forward "^[ \t]+" nil t)
        (replace-match ""))
      (indent-region (point-min) (point-max))
      (princ (format "indentation %s\n" (string= text (buffer-string))))
      (unless (string= text (buffer-string)) (princ (buffer-string)))
      (set-buffer-modified-p nil))
    (require 'imenu)
    (princ (format "outline %S\n"
                   (mapcar (lambda (entry) (if (listp (cdr entry)) (cons (car entry) (mapcar #'car (cdr entry))) (car entry)))
                           (imenu--make-index-alist))))))
