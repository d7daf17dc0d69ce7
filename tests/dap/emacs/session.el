;;; session.el --- dape in a real Emacs goes through a trace  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;;
;; emacs --batch -l session.el KYMO TRACE COMMAND…: types each command into the debug console, and prints where the
;; debugger stands then, a JSON object a line.
(require 'package)
(package-initialize)
(require 'dape)
(require 'json)

(setq dape-start-hook nil)
(defvar session-stops 0)
(cl-defmethod dape-handle-event :before (_connection (_event (eql stopped)) _body)
  (cl-incf session-stops))

(defun session-connection () (dape--live-connection 'stopped t))

(defun session-frame ()
  (let ((connection (session-connection)))
    (and connection (dape--current-stack-frame connection))))

(defun session-wait (predicate)
  (with-timeout (30 (error "Nothing came"))
    (while (not (funcall predicate)) (accept-process-output nil 0.05))))

(defun session-settle ()
  "Until the client has asked for all that it wants; a loop never ends."
  (let ((seen -1) (quiet 0))
    (while (and (< quiet 10) (< session-stops 100))
      (setq quiet (if (= seen session-stops) (1+ quiet) 0)
            seen session-stops)
      (accept-process-output nil 0.05))))

(defun session-print ()
  (let ((frame (session-frame)))
    (princ (concat (json-encode `((stops . ,session-stops)
                                  (thread . ,(dape--thread-id (session-connection)))
                                  (function . ,(plist-get frame :name))
                                  (line . ,(plist-get frame :line))))
                   "\n"))))

(let ((kymo (pop command-line-args-left)) (trace (pop command-line-args-left)))
  (dape `(command ,kymo command-args ("dap") command-cwd ,temporary-file-directory
          :type "kymo" :request "launch" :trace ,trace)))
(session-wait #'session-frame)
(while command-line-args-left
  (let ((before session-stops))
    (dape-evaluate-expression (session-connection) (pop command-line-args-left))
    (session-wait (lambda () (and (> session-stops before) (session-frame))))
    (session-settle)
    (session-print)))
(kill-emacs)
