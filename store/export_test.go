package store

import "context"

// RunOnce runs fn under a key in a transaction of its own, and writes an audit entry each time that it ran.
func (s *Store) RunOnce(ctx context.Context, a Actor, o Once, fn func() (map[string]int64, error)) (map[string]int64, error) {
	var result map[string]int64
	err := s.writeBulk(ctx, func(t *tx) (err error) {
		result, err = once(t, o, func() (map[string]int64, error) {
			answer, err := fn()
			if err != nil {
				return nil, err
			}
			return answer, t.auditAll(a, []entry{{action: "ran", target: o.Operation}, {action: "and", target: o.Key}})
		})
		return err
	})
	return result, err
}
