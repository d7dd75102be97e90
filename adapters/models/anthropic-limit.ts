type Fetch = typeof globalThis.fetch;

interface Body {
  max_tokens: number;
  thinking?: { type: string; budget_tokens?: number };
}

/** Min budget that the vendor accepts. */
const minBudget = 1_024;

/**
 * The provider package adds the thinking budget to the output limit. The platform's limit covers both, so the request
 * is cut to it: thinking takes at most half of it, and is off where the limit is too small.
 */
export function withinLimit(fetch: Fetch, maxOutputTokens: number): Fetch {
  return (input, init) => {
    const body = JSON.parse(typeof init?.body === 'string' ? init.body : '{}') as Body;
    const budget = body.thinking?.budget_tokens;
    if (budget === undefined || body.max_tokens <= maxOutputTokens) {
      return fetch(input, init);
    }
    const { thinking, ...rest } = body;
    const left = Math.min(budget, Math.floor(maxOutputTokens / 2));
    const limited = {
      ...rest,
      max_tokens: maxOutputTokens,
      ...(left < minBudget ? {} : { thinking: { ...thinking, budget_tokens: left } }),
    };
    return fetch(input, { ...init, body: JSON.stringify(limited) });
  };
}
