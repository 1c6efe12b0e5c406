#!/usr/bin/env bash
# Versions: npm @pydantic/genai-prices 0.1.8, PyPI genai-prices 0.2.3.
# Expected: a price library that reads the `usage` of a provider's answer can price what it has read, at worst roughly.
# Seen: for an answer of OpenAI with audio and cached tokens, `extractUsage` succeeds, and `calcPrice` throws on its
#   result for gpt-realtime ("Missing usage value for cache_audio_read_tokens"): the chat API does not send how much of
#   the audio was cached. For gpt-audio, in whose price the overlap does not matter, the same usage has a price.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > npm.log
npm install --silent --no-audit --no-fund @pydantic/genai-prices@0.1.8
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check genai-prices==0.2.3
cat > usage.json <<'JSON'
{"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
 "prompt_tokens_details": {"cached_tokens": 400, "audio_tokens": 600}, "completion_tokens_details": {"audio_tokens": 0}}
JSON
cat > price.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { calcPrice, extractUsage, findProvider } from '@pydantic/genai-prices';
const usage = JSON.parse(readFileSync('usage.json', 'utf8'));
for (const model of ['gpt-audio', 'gpt-realtime']) {
  const read = extractUsage(findProvider({ providerId: 'openai' }), { model, usage }, 'chat');
  try {
    calcPrice(read.usage, model, { providerId: 'openai' });
    console.log(`${model} priced`);
  } catch {
    console.log(`${model} throws`);
  }
}
JS
cat > price.py <<'PY'
import json
from genai_prices import extract_usage
usage = json.load(open("usage.json"))
for model in ("gpt-audio", "gpt-realtime"):
    read = extract_usage({"model": model, "usage": usage}, provider_id="openai", api_flavor="chat")
    try:
        read.calc_price()
        print(model, "priced")
    except ValueError:
        print(model, "throws")
PY
seen="$(node price.mjs | paste -sd, -); $(venv/bin/python price.py | paste -sd, -)"
echo "seen: $seen"
[ "$seen" = "gpt-audio priced,gpt-realtime throws; gpt-audio priced,gpt-realtime throws" ]
