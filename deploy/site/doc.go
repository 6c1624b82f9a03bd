// Command site writes the documentation as a static site: one page for each
// Markdown file of the repository, a navigation, a search index and llms.txt. The
// pages load nothing from elsewhere, and work from a folder, without a server.
//
// A link that leads nowhere is an error, with file and link.
package main
