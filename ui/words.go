package ui

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

//go:embed words.json
var wordsJSON []byte

// The languages of the pages.
const (
	english = "en"
	chinese = "zh"
)

// catalogue holds every text of the pages: key → language → text. It is read-only after parsing.
type catalogue map[string]map[string]string

func parseWords(data []byte) (catalogue, error) {
	var words catalogue
	if err := json.Unmarshal(data, &words); err != nil {
		return nil, fmt.Errorf("words: %w", err)
	}
	for key, texts := range words {
		if texts[english] == "" || texts[chinese] == "" {
			return nil, fmt.Errorf("words: %s lacks a language", key)
		}
	}
	return words, nil
}

// say returns the text of key in lang, its verbs filled from args. An unknown key is shown as it is, so that it is seen.
func (c catalogue) say(lang, key string, args ...any) string {
	text := c[key][lang]
	if text == "" {
		return key
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// language is what the visitor chose before, else the first language of the browser that the pages speak, else English.
func language(r *http.Request) string {
	if cookie, err := r.Cookie(languageCookie); err == nil && (cookie.Value == chinese || cookie.Value == english) {
		return cookie.Value
	}
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag := strings.ToLower(strings.TrimSpace(part))
		switch {
		case strings.HasPrefix(tag, chinese):
			return chinese
		case strings.HasPrefix(tag, english):
			return english
		}
	}
	return english
}
