package ui

// Routes are the addresses that the router knows, each as its method, a space and its pattern.
func (u *UI) Routes() (routes []string) {
	for _, r := range u.echo.Routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	return routes
}
