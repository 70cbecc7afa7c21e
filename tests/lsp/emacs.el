;;; A session in Emacs with eglot, without its screen: mistypes a state, sees the finding, applies the repair, renames a state and
;;; completes a message. Prints one line for each step that worked, and ends with an error at the first that did not.

(require 'package)
(package-initialize)
(require 'eglot)
(require 'flymake)

(setq eglot-events-buffer-size 0
      eglot-confirm-server-initiated-edits nil
      eglot-send-changes-idle-time 0.05
      create-lockfiles nil
      make-backup-files nil)

(define-derived-mode duologue-mode prog-mode "Duologue")
(add-to-list 'auto-mode-alist '("\\.\\(duo\\|proto\\)\\'" . duologue-mode))
(add-to-list 'eglot-server-programs
             (list 'duologue-mode (getenv "DUOLOGUE") "lsp"))

(defun step (words &rest rest)
  (princ (concat (apply #'format words rest) "\n")))

(defun wait (what is-done)
  (let ((end (+ (float-time) 30)) found)
    (while (not (setq found (funcall is-done)))
      (when (> (float-time) end) (error "No %s" what))
      (accept-process-output nil 0.02))
    found))

(find-file (expand-file-name "bank.proto" (getenv "DUOLOGUE_FOLDER")))
(call-interactively #'eglot)
(let ((server (wait "server" #'eglot-current-server)))
  (unless (eglot--managed-mode) (eglot--managed-mode 1)))

(defun request (method params)
  (jsonrpc-request (eglot-current-server) method params))

(goto-char (point-min))
(search-forward "-> connected,")
(goto-char (match-beginning 0))
(forward-char 3)
(delete-char 1)
(insert "N")
(eglot--signal-textDocument/didChange)
(flymake-start)
(let ((found (wait "finding" #'flymake-diagnostics)))
  (step "finding: %s" (car (split-string (flymake-diagnostic-text (car found)) "\n"))))

(let* ((actions (request :textDocument/codeAction
                         (list :textDocument (eglot--TextDocumentIdentifier)
                               :range (list :start (eglot--pos-to-lsp-position (point))
                                            :end (eglot--pos-to-lsp-position (point)))
                               :context '(:diagnostics []))))
       (action (aref actions 0)))
  (eglot--apply-workspace-edit (plist-get action :edit))
  (step "repaired: %s" (plist-get action :title)))
(eglot--signal-textDocument/didChange)
(wait "end of the finding" (lambda () (flymake-start) (null (flymake-diagnostics))))

(goto-char (point-min))
(search-forward "connected:send")
(goto-char (match-beginning 0))
(eglot-rename "online")
(goto-char (point-min))
(search-forward "online:send")
(goto-char (point-min))
(when (search-forward "connected" nil t) (error "The old name is left"))
(step "renamed")

(goto-char (point-min))
(search-forward "quit ->")
(beginning-of-line)
(insert "        inv\n")
(backward-char 1)
(eglot--signal-textDocument/didChange)
(completion-at-point)
(step "completed: %s" (string-trim (thing-at-point 'line t)))
(set-buffer-modified-p nil)
(kill-emacs 0)
