package scale

// CRC16 is crc16, for the test.
func CRC16(tag string) uint16 { return crc16(tag) }
