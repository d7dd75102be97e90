type Fetch = typeof globalThis.fetch;

interface Body {
  max_tokens: number;
  thinking?: { type: string; budget_tokens?: number };
}

/** Below it the vendor refuses a budget. */
const smallestBudget = 1_024;

/**
 * The provider package adds a budget for thinking on top of the output's limit. Our limit holds for both, so the
 * request is cut down to it: at most half of it is thought away, and a limit that is too small leaves no thoughts.
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
      ...(left < smallestBudget ? {} : { thinking: { ...thinking, budget_tokens: left } }),
    };
    return fetch(input, { ...init, body: JSON.stringify(limited) });
  };
}
