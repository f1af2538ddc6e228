package ui_test

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// document is a parsed page.
func (p page) document() *html.Node {
	p.t.Helper()
	root, err := html.Parse(strings.NewReader(p.body))
	if err != nil {
		p.t.Fatal(err)
	}
	return root
}

// fields are what a browser without scripts sends of the form #policy as it stands.
func (p page) fields() url.Values {
	p.t.Helper()
	f, found := url.Values{}, false
	var walk func(n *html.Node, inside bool)
	walk = func(n *html.Node, inside bool) {
		if attr(n, "id") == "policy" {
			inside, found = true, true
		}
		if n.Type == html.ElementNode && (inside && attr(n, "form") == "" || attr(n, "form") == "policy") {
			send(f, n)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, inside)
		}
	}
	walk(p.document(), false)
	if !found {
		p.t.Fatalf("no form #policy:\n%s", p.body)
	}
	return f
}

// send adds one control to what is sent.
func send(f url.Values, n *html.Node) {
	name := attr(n, "name")
	if name == "" || has(n, "disabled") {
		return
	}
	switch n.Data {
	case "input":
		if kind := attr(n, "type"); (kind == "checkbox" || kind == "radio") && !has(n, "checked") {
			return
		}
		f.Add(name, attr(n, "value"))
	case "textarea":
		f.Add(name, text(n))
	case "select":
		chosen := ""
		for o := n.FirstChild; o != nil; o = o.NextSibling {
			if o.Data == "option" && (chosen == "" || has(o, "selected")) {
				chosen = attr(o, "value")
			}
		}
		f.Add(name, chosen)
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func text(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var out strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out.WriteString(text(c))
	}
	return out.String()
}

// find is the element with the id, nil without one.
func find(n *html.Node, id string) *html.Node {
	if attr(n, "id") == id {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := find(c, id); found != nil {
			return found
		}
	}
	return nil
}

// says holds the text of the element with an id against the wanted one.
func (p page) says(id, want string) page {
	p.t.Helper()
	n := find(p.document(), id)
	if n == nil {
		p.t.Errorf("no #%s:\n%s", id, p.body)
		return p
	}
	if got := strings.Join(strings.Fields(text(n)), " "); got != want {
		p.t.Errorf("#%s says %q, want %q", id, got, want)
	}
	return p
}

// edited is the form of a group as it is opened, with some fields changed: name, value, ….
func (v *visitor) edited(path string, changes ...string) url.Values {
	v.t.Helper()
	f := v.get(path).want(200).fields()
	for i := 0; i < len(changes); i += 2 {
		f.Set(changes[i], changes[i+1])
	}
	return f
}

// allFields are the hidden fields of the whole page, for pages that keep a form for later.
func (p page) allFields() url.Values {
	p.t.Helper()
	f := url.Values{}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			send(f, n)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(p.document())
	return f
}
