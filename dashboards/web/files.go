package web

import (
	"embed"
	"io/fs"
)

//go:embed index.html style.css icon.svg app
var files embed.FS

// Files returns the files served below "/": index.html, style.css, icon.svg and the
// modules in app/. The addresses "/", "/jobs" and "/incidents/{id}" are all
// index.html: the page routes by the address.
func Files() fs.FS { return files }
