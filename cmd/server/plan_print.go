package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/oapi-codegen/nullable"

	"github.com/pacekeeper/pacekeeper/client"
)

// marks are the signs of operations.
func marks() map[client.ConfigOp]string {
	return map[client.ConfigOp]string{"create": "+", "update": "~", "remove": "-"}
}

// printChanges prints all that is not unchanged: a line for each, and below it what differs.
func printChanges(out io.Writer, changes []client.ConfigChange) {
	for _, c := range changes {
		mark, changed := marks()[c.Op]
		if !changed {
			continue
		}
		fmt.Fprintf(out, "%s %s%s\n", mark, titleOf(c), direction(c))
		for _, d := range c.Diff {
			fmt.Fprintf(out, "    %s\n", difference(d))
		}
		for _, clamp := range c.Clamped {
			fmt.Fprintf(out, "    ! %s: %s\n", clamp.Path, clampWords(clamp.Requested, clamp.Effective, string(clamp.Bound), clamp.Limit))
		}
	}
}

// titleOf names what changes: policy tea, exemption tea mei, bounds. Ids that hold odd characters are quoted.
func titleOf(c client.ConfigChange) string {
	words := []string{string(c.Kind)}
	for _, id := range []nullable.Nullable[string]{c.GroupId, c.Target} {
		if text, err := id.Get(); err == nil {
			words = append(words, strings.Trim(strconv.Quote(text), `"`))
		}
	}
	return strings.Join(words, " ")
}

func direction(c client.ConfigChange) string {
	switch {
	case c.Loosens && c.Tightens:
		return "  (loosens and tightens)"
	case c.Loosens:
		return "  (loosens)"
	case c.Tightens:
		return "  (tightens)"
	}
	return ""
}

func difference(d client.ConfigDiff) string {
	switch {
	case d.Before == nil:
		return fmt.Sprintf("+ %s: %s", d.Path, shown(d.After))
	case d.After == nil:
		return fmt.Sprintf("- %s: %s", d.Path, shown(d.Before))
	}
	return fmt.Sprintf("~ %s: %s → %s", d.Path, shown(d.Before), shown(d.After))
}

// shown is a value as JSON writes it.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// clampWords says what of a request is in force.
func clampWords(requested, effective any, bound string, limit any) string {
	if bound == "forbidden" {
		return fmt.Sprintf("%s is forbidden by the bounds, %s is in force", shown(requested), shown(effective))
	}
	return fmt.Sprintf("%s is asked for, %s is in force: the bounds' %s is %s", shown(requested), shown(effective), bound, shown(limit))
}

// summary counts what a plan holds.
func summary(changes []client.ConfigChange, n client.ConfigCounts, create, update, remove string) string {
	var loosens, tightens, clamped int64
	for _, c := range changes {
		loosens += one(c.Loosens)
		tightens += one(c.Tightens)
		clamped += int64(len(c.Clamped))
	}
	text := fmt.Sprintf("%d %s, %d %s, %d %s, %d unchanged", n.Create, create, n.Update, update, n.Remove, remove, n.Unchanged)
	if loosens+tightens > 0 {
		text += fmt.Sprintf("; %d loosen, %d tighten", loosens, tightens)
	}
	if clamped > 0 {
		text += "; " + counted(clamped, "value", "values") + " held back by the bounds"
	}
	return text
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func counted(n int64, single, many string) string {
	if n == 1 {
		return "1 " + single
	}
	return strconv.FormatInt(n, 10) + " " + many
}
