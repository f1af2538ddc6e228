package policy

func Summary(e Effective, action, lang string) string { return "" }
