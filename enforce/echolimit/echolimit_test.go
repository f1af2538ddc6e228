package echolimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/enforce/echolimit"
	"github.com/pacekeeper/pacekeeper/enforce/httplimit"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// signedIn stands for the sign-in of your own.
func signedIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set("user", "ann")
		return next(c)
	}
}

func user(c echo.Context) string { name, _ := c.Get("user").(string); return name }

func Example() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	server.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})
	defer func() { _ = rdb.Close() }()

	e := echo.New()
	e.POST("/groups/:group/messages", func(c echo.Context) error {
		d, _ := httplimit.Decision(c.Request().Context())
		return c.String(http.StatusOK, fmt.Sprintf("sent, %d left", d.Remaining))
	}, signedIn, echolimit.Middleware(echolimit.Config{
		Client: enforce.New(enforce.Config{Redis: rdb, Timeout: 10 * time.Second}),
		Action: echolimit.Fixed("message"), Group: echolimit.Param("group"), User: user,
	}))
	for range 2 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/groups/tea/messages", nil))
		fmt.Println(w.Code, w.Header().Get("Retry-After"), w.Header().Get("Content-Type"))
	}
	// Output:
	// 200  text/plain; charset=UTF-8
	// 429 2 application/problem+json
}

func TestEchoMapsRolesCostAndLocale(t *testing.T) {
	t.Parallel()
	cfg := echolimit.Config{
		Client: enforce.New(enforce.Config{Redis: redistest.Real(t), Timeout: 10 * time.Second}),
		Action: echolimit.Fixed("message"), Group: echolimit.Param("group"), User: user, Degraded: policy.Refuse,
		Roles:  func(c echo.Context) []string { return []string{c.QueryParam("role")} },
		Cost:   func(c echo.Context) int64 { return int64(len(c.QueryParam("cost"))) },
		Locale: func(echo.Context) string { return "zh" },
	}
	e := echo.New()
	passed := 0
	e.GET("/:group", func(echo.Context) error { passed++; return nil }, signedIn, echolimit.Middleware(cfg))
	for url, want := range map[string]int{"/g1?cost=12345678": 200, "/g2?cost=123456789": 429, "/g2?cost=123456789&role=bot": 200, "/a%7Cb": 400} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", url, nil))
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", url, w.Code, w.Body, want)
		}
	}
	if passed != 2 {
		t.Errorf("%d passed", passed)
	}
}
