package policy

import "errors"

var errStub = errors.New("not yet")

func CheckID(pointer, id string) error                                { return errStub }
func ValidActionName(name string) bool                                { return false }
func CheckJSON(data []byte) error                                     { return errStub }
func CheckKeys(data []byte, known ...string) error                    { return errStub }
func ParseDocument(data []byte) (Document, error)                     { return Document{}, errStub }
func (d Document) JSON() []byte                                       { return nil }
func MergePatch(target, patch []byte) ([]byte, error)                 { return nil, errStub }
func ParseBounds(data []byte) (Bounds, error)                         { return Bounds{}, errStub }
func (b Bounds) JSON(registered []string) []byte                      { return nil }
func ShippedBounds() Bounds                                           { return Bounds{} }
func ShippedDefaults() Document                                       { return Document{} }
func ShippedActions() []ActionSpec                                    { return nil }
func FactoryPolicy(action string) Compiled                            { return Compiled{} }
func NewSystem(cfg SystemConfig) (*System, error)                     { return &System{SystemConfig: cfg}, nil }
func (s *System) ParseDocument(data []byte) (Document, error)         { return Document{}, errStub }
func (s *System) Validate(d Document) error                           { return errStub }
func (s *System) Resolve(d Document) (Effective, []Clamp)             { return Effective{}, nil }
func (s *System) OperatorOnly(before, after Document) error           { return errStub }
func (s *System) KeepOperatorActions(before, after Document) Document { return after }
func (s *System) Published(d Document) []string                       { return nil }
func (s *System) Compile(e Effective, action string, version, order int64) Compiled {
	return Compiled{}
}
func (s *System) CompileDefault(action string) Compiled { return Compiled{} }
func (s *System) Order(groupVersion int64) int64        { return 0 }
func (e Effective) JSON() []byte                        { return nil }
func (e Effective) Sources() map[string]string          { return nil }
func Summary(e Effective, action, lang string) string   { return "" }
