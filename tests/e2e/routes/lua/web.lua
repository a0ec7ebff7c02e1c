-- Routes of routes.test.mjs; twin of ../javascript/index.js.
local nk = require("nakama")

nk.register_http(function(context, request)
    return {
        status = 201,
        headers = { ["Content-Type"] = "application/json", ["X-Many"] = { "one", "two" } },
        body = nk.json_encode({
            mode = context.execution_mode,
            method = request.method,
            path = request.path,
            params = request.path_params,
            query = request.query.tag,
            header = request.headers["X-Asked"],
            body = nk.base64_encode(request.body),
            has_address = request.client_ip ~= nil,
        }),
    }
end, "/shop/{item}/{rest...}", "GET", "POST")

nk.register_http(function(context, request)
    return "the best"
end, "/shop/best/of", "GET")

nk.register_http(function()
    return { body = "\0\255bytes", headers = { ["Content-Type"] = "application/octet-stream", ["Cache-Control"] = "max-age=60" } }
end, "/bytes")

nk.register_http(function() end, "/nothing", "DELETE")

nk.register_http(function()
    error({ "a secret of the studio", 9 })
end, "/broken")

nk.register_http(function()
    return { status = 1000 }
end, "/unfit")

nk.register_http(function()
    while true do
    end
end, "/endless")

-- What a webhook of a shop would do.
nk.register_http(function(context, request)
    if request.headers["X-Signature"] == nil then
        return { status = 403, body = "not signed" }
    end
    local paid = nk.json_decode(request.body)
    local wallet = nk.wallet_update(paid.user, { gems = paid.gems }, {}, true)
    return nk.json_encode({ gems = wallet.gems })
end, "/hooks/paid", "POST")

-- Large enough to be compressed.
nk.register_http(function()
    return { body = string.rep("a", 4000), headers = { ["Vary"] = "Origin" } }
end, "/large", "GET")

-- Calls somebody twice.
nk.register_http(function(context, request)
    for _, place in { "/first", "/second" } do
        nk.http_request(request.query.url[1] .. place, "get", {})
    end
end, "/calls", "GET")
