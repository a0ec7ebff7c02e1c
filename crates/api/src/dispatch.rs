//! The way from an operation to its handler, as the operation table names it.

use muster_wire::operations::{Operation, typed};

use crate::context::App;
use crate::pipeline::{Answered, Call, Codec, run, unbuilt};

/// Runs one row's handler in the pipeline.
macro_rules! run_row {
    // `RpcFunc` answers with errors and bodies in a form of its own, so `http` calls its handler without the pipeline.
    ($app:ident, $call:ident, RpcFunc, rpc::call) => {
        unbuilt($app, $call)
    };
    ($app:ident, $call:ident, $id:ident, missing) => {
        unbuilt($app, $call)
    };
    ($app:ident, $call:ident, $id:ident, $feature:ident::$function:ident) => {
        run::<typed::$id, C>($app, $call, crate::$feature::$function).await
    };
}

/// Writes `dispatch`, a match over all operations with one call per arm.
macro_rules! dispatch {
    ($($id:ident: $audience:ident, $($handler:ident)::+, $request:ident => $response:ident, [$($bindings:tt)*]
        $(, $verdict:ident $remark:literal)?;)*) => {
        /// Runs the operation of a call; answers its encoded response.
        ///
        /// Errors: see [`run`]; `Unimplemented` for an operation that is not built.
        pub async fn dispatch<C: Codec>(app: &App, call: &Call<'_, C>) -> Answered {
            match call.operation {
                $(Operation::$id => run_row!(app, call, $id, $($handler)::+),)*
            }
        }
    };
}

muster_wire::operation_table!(dispatch);
