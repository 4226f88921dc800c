package corpus

// result closes a turn. Its type stands near the end, as in the CLI's own.
func (g *generator) result() object {
	frame := object{"duration_api_ms", g.between(4000, 900000), "stop_reason", "end_turn", "session_id", g.session,
		"total_cost_usd", g.cost(), "usage", g.resultUsage(), "modelUsage", g.modelUsage(models),
		"permission_denials", g.denials(), "terminal_reason", "completed", "fast_mode_state", "off",
		"fast_mode_disabled_reason", "sdk_opt_in_required", "subagent_stats", g.subagentStats(), "safety_stops", 0,
		"is_error", false, "num_turns", g.between(11, 24)}
	frame = append(frame, "subtype", "success", "api_error_status", nil, "result", g.prose(g.between(300, 2500)),
		"ttft_ms", g.between(200, 4000), "type", "result", "duration_ms", g.between(5000, 990000), "uuid", g.uuid())
	return append(frame, "ttft_stream_ms", g.between(200, 4000), "time_to_request_ms", g.between(20, 200),
		"first_content_frame_ms", g.between(200, 4000), "queued_turn_count", 0, "result_index", g.results,
		"model_usage_since_last_result", g.modelUsage(models[:1]))
}

// cost is an amount of money with at most six decimals.
func (g *generator) cost() float64 { return float64(g.rng.IntN(4e6)) / 1e6 }

func (g *generator) resultUsage() object {
	created := g.rng.IntN(20000)
	return object{"input_tokens", g.rng.IntN(4000), "cache_creation_input_tokens", created,
		"cache_read_input_tokens", g.rng.IntN(900000), "output_tokens", g.rng.IntN(40000),
		"output_tokens_details", object{"thinking_tokens", g.rng.IntN(9000)},
		"server_tool_use", object{"web_search_requests", g.rng.IntN(3), "web_fetch_requests", 0},
		"service_tier", "standard",
		"cache_creation", object{"ephemeral_1h_input_tokens", 0, "ephemeral_5m_input_tokens", created},
		"inference_geo", "", "iterations", []object{}, "speed", "standard", "fallback_credit", nil}
}

func (g *generator) modelUsage(names []string) object {
	var byModel object
	for _, name := range names {
		created := g.rng.IntN(90000)
		byModel = append(byModel, name, object{"inputTokens", g.rng.IntN(9000), "outputTokens", g.rng.IntN(90000),
			"cacheReadInputTokens", g.rng.IntN(2000000), "cacheCreationInputTokens", created, "webSearchRequests", 0,
			"costUSD", g.cost(), "contextWindow", 1000000, "maxOutputTokens", 128000, "thinkingTokens", g.rng.IntN(9000),
			"cacheCreationEphemeral5mInputTokens", created, "cacheCreationEphemeral1hInputTokens", 0,
			"canonicalModel", name, "provider", "firstParty", "costBasis", "list"})
	}
	return byModel
}

func (g *generator) denials() []object {
	list := []object{}
	for range g.rng.IntN(3) {
		name := pick(g, tools)
		list = append(list, object{"tool_name", name, "tool_use_id", g.id("toolu_01"), "tool_input", g.toolInput(name)})
	}
	return list
}

func (g *generator) subagentStats() object {
	n := g.rng.IntN(4)
	return object{"spawned", n, "requested", object{"background", 0, "foreground", 0, "unset", n},
		"started_in_background", n, "max_depth", min(n, 1), "spawned_by_subagents", 0, "completed", n, "failed", 0,
		"killed", object{"parent", 0, "user", 0, "system", 0},
		"refused", object{"depth_limit", 0, "concurrency_limit", 0, "budget", 0},
		"by_type", object{"general-purpose", n}}
}
