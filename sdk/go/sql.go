package muster

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// errTransaction is the error of beginning a transaction: connections belong to the server, and none is kept for a
// module.
var errTransaction = errors.New("a module has no transactions of its own: each statement is one; nk.MultiUpdate changes " +
	"accounts, objects and wallets together")

// connector makes connections for database/sql. They hold nothing: each statement goes to the server on its own.
type connector struct{ server *server }

func (c connector) Connect(context.Context) (driver.Conn, error) { return connection{c.server}, nil }
func (c connector) Driver() driver.Driver                        { return sqlDriver{} }

type sqlDriver struct{}

func (sqlDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("a module has the server's database alone: use the db that it is handed")
}

type connection struct{ server *server }

var (
	_ driver.QueryerContext = connection{}
	_ driver.ExecerContext  = connection{}
)

func (c connection) Prepare(query string) (driver.Stmt, error) { return statement{c, query}, nil }
func (connection) Close() error                                { return nil }
func (connection) Begin() (driver.Tx, error)                   { return nil, errTransaction }

func (c connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	parameters, err := parametersOf(args)
	if err != nil {
		return nil, err
	}
	value, err := module{server: c.server}.ask(ctx, "sql_rows", query, parameters)
	if err != nil {
		return nil, err
	}
	results := resultsOf(value, 2)
	names, _ := results[0].([]any)
	found := &rows{columns: make([]string, len(names))}
	for i, name := range names {
		found.columns[i] = textOf(name)
	}
	found.left, _ = results[1].([]any)
	return found, nil
}

func (c connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	parameters, err := parametersOf(args)
	if err != nil {
		return nil, err
	}
	value, err := module{server: c.server}.ask(ctx, "sql_changed", query, parameters)
	changed, _ := value.(float64)
	return driver.RowsAffected(changed), err
}

type statement struct {
	connection connection
	query      string
}

func (statement) Close() error  { return nil }
func (statement) NumInput() int { return -1 }

func named(args []driver.Value) []driver.NamedValue {
	list := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		list[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return list
}

func (s statement) Exec(args []driver.Value) (driver.Result, error) {
	return s.connection.ExecContext(context.Background(), s.query, named(args))
}

func (s statement) Query(args []driver.Value) (driver.Rows, error) {
	return s.connection.QueryContext(context.Background(), s.query, named(args))
}

func (s statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.connection.ExecContext(ctx, s.query, args)
}

func (s statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.connection.QueryContext(ctx, s.query, args)
}

// parametersOf writes parameters as texts that begin with a letter for the type, so that whole numbers stay exact.
func parametersOf(args []driver.NamedValue) ([]any, error) {
	parameters := make([]any, 0, len(args))
	for _, arg := range args {
		if arg.Name != "" {
			return nil, errors.New("parameters are written $1, $2: they have no names")
		}
		switch value := arg.Value.(type) {
		case nil, bool, float64:
			parameters = append(parameters, value)
		case int64:
			parameters = append(parameters, "i"+strconv.FormatInt(value, 10))
		case string:
			parameters = append(parameters, "t"+value)
		case []byte:
			parameters = append(parameters, append([]byte("b"), value...))
		case time.Time:
			parameters = append(parameters, "t"+value.UTC().Format("2006-01-02 15:04:05.999999")+"+00")
		default:
			return nil, fmt.Errorf("a parameter of type %T", value)
		}
	}
	return parameters, nil
}

// rows are the rows that a statement found.
type rows struct {
	columns []string
	left    []any
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(into []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	row, _ := r.left[0].([]any)
	r.left = r.left[1:]
	for i := range into {
		if i >= len(row) {
			break
		}
		value, err := columnOf(row[i])
		if err != nil {
			return err
		}
		into[i] = value
	}
	return nil
}

func columnOf(value any) (driver.Value, error) {
	text, is := value.(string)
	if !is {
		return value, nil
	}
	if text == "" {
		return nil, errors.New("a value of no kind")
	}
	kind, rest := text[0], text[1:]
	switch kind {
	case 'i':
		return strconv.ParseInt(rest, 10, 64)
	case 't':
		return rest, nil
	case 'b':
		return []byte(rest), nil
	case 'm':
		micros, err := strconv.ParseInt(rest, 10, 64)
		return time.UnixMicro(micros).UTC(), err
	default:
		return nil, fmt.Errorf("a value of an unknown kind %c", kind)
	}
}
