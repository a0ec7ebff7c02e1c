package muster

import (
	"encoding/json"

	"github.com/heroiclabs/nakama-common/runtime"
)

// config is the part of the server's configuration that modules may know. Keys and secrets are not among it.
type config struct {
	Name             string `json:"name"`
	ShutdownGraceSec int    `json:"shutdown_grace_sec"`
	Logger           struct {
		Level string `json:"level"`
	} `json:"logger"`
	Session struct {
		TokenExpirySec        int64 `json:"token_expiry_sec"`
		RefreshTokenExpirySec int64 `json:"refresh_token_expiry_sec"`
		SingleSocket          bool  `json:"single_socket"`
		SingleMatch           bool  `json:"single_match"`
		SingleParty           bool  `json:"single_party"`
		SingleSession         bool  `json:"single_session"`
	} `json:"session"`
	Socket struct {
		Port     int    `json:"port"`
		Address  string `json:"address"`
		Protocol string `json:"protocol"`
	} `json:"socket"`
	Runtime struct {
		Env []string `json:"env"`
	} `json:"runtime"`
}

func (s *server) config() (runtime.Config, error) {
	value, err := s.ask(initCall, "get_config")
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(plain(value))
	if err != nil {
		return nil, err
	}
	c := &config{}
	return shownConfig{c}, json.Unmarshal(text, c)
}

// shownConfig is the configuration as an interface of the original. Values that this server does not have are empty.
type shownConfig struct{ *config }

func (c shownConfig) GetName() string                         { return c.Name }
func (c shownConfig) GetShutdownGraceSec() int                { return c.ShutdownGraceSec }
func (c shownConfig) GetLogger() runtime.LoggerConfig         { return c }
func (c shownConfig) GetSession() runtime.SessionConfig       { return c }
func (c shownConfig) GetSocket() runtime.SocketConfig         { return c }
func (c shownConfig) GetRuntime() runtime.RuntimeConfig       { return c }
func (c shownConfig) GetSocial() runtime.SocialConfig         { return noSocial{} }
func (c shownConfig) GetIAP() runtime.IAPConfig               { return noIAP{} }
func (c shownConfig) GetGoogleAuth() runtime.GoogleAuthConfig { return none{} }
func (c shownConfig) GetSatori() runtime.SatoriConfig         { return none{} }

func (c shownConfig) GetLevel() string                { return c.Logger.Level }
func (c shownConfig) GetEncryptionKey() string        { return "" }
func (c shownConfig) GetRefreshEncryptionKey() string { return "" }
func (c shownConfig) GetTokenExpirySec() int64        { return c.Session.TokenExpirySec }
func (c shownConfig) GetRefreshTokenExpirySec() int64 { return c.Session.RefreshTokenExpirySec }
func (c shownConfig) GetSingleSocket() bool           { return c.Session.SingleSocket }
func (c shownConfig) GetSingleMatch() bool            { return c.Session.SingleMatch }
func (c shownConfig) GetSingleParty() bool            { return c.Session.SingleParty }
func (c shownConfig) GetSingleSession() bool          { return c.Session.SingleSession }
func (c shownConfig) GetServerKey() string            { return "" }
func (c shownConfig) GetPort() int                    { return c.Socket.Port }
func (c shownConfig) GetAddress() string              { return c.Socket.Address }
func (c shownConfig) GetProtocol() string             { return c.Socket.Protocol }
func (c shownConfig) GetEnv() []string                { return c.Runtime.Env }
func (c shownConfig) GetHTTPKey() string              { return "" }

// none stands for parts of the configuration that are not set or not shown to modules.
type none struct{}

func (none) GetPublisherKey() string            { return "" }
func (none) GetAppID() int                      { return 0 }
func (none) GetAppSecret() string               { return "" }
func (none) GetAppId() string                   { return "" }
func (none) GetBundleId() string                { return "" }
func (none) GetSharedPassword() string          { return "" }
func (none) GetNotificationsEndpointId() string { return "" }
func (none) GetClientEmail() string             { return "" }
func (none) GetPrivateKey() string              { return "" }
func (none) GetPublicKey() string               { return "" }
func (none) GetClientID() string                { return "" }
func (none) GetClientSecret() string            { return "" }
func (none) GetPackageName() string             { return "" }
func (none) GetCredentialsJSON() string         { return "" }
func (none) GetUrl() string                     { return "" }
func (none) GetApiKeyName() string              { return "" }
func (none) GetApiKey() string                  { return "" }
func (none) GetSigningKey() string              { return "" }

type noSocial struct{}

func (noSocial) GetSteam() runtime.SocialConfigSteam { return none{} }
func (noSocial) GetFacebookInstantGame() runtime.SocialConfigFacebookInstantGame {
	return none{}
}
func (noSocial) GetFacebookLimitedLogin() runtime.SocialConfigFacebookLimitedLogin {
	return none{}
}
func (noSocial) GetApple() runtime.SocialConfigApple { return none{} }

type noIAP struct{}

func (noIAP) GetApple() runtime.IAPAppleConfig                     { return none{} }
func (noIAP) GetGoogle() runtime.IAPGoogleConfig                   { return none{} }
func (noIAP) GetHuawei() runtime.IAPHuaweiConfig                   { return none{} }
func (noIAP) GetFacebookInstant() runtime.IAPFacebookInstantConfig { return none{} }
func (noIAP) GetSamsung() runtime.IAPSamsungConfig                 { return none{} }
