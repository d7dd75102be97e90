import { createAnthropic } from '@ai-sdk/anthropic';
import type { ModelGateway, ModelRequest } from '#domain/capabilities/models/model-gateway.ts';
import { vendorAddress } from '#domain/capabilities/models/vendor-address.ts';
import { withinLimit } from './anthropic-limit.ts';
import { vendorGateway, type VendorOptions } from './vendor-gateway.ts';

/** Claude over the Messages API. */
export function anthropic(options: VendorOptions): ModelGateway {
  return vendorGateway(
    {
      baseUrl: vendorAddress.anthropic,
      summarises: true,
      prompting: { systemFirst: true, resultFiles: ['image'], reasoningWithCallsOnly: false },
      connect: ({ model, maxOutputTokens }, connection) => ({
        model: createAnthropic({
          ...connection,
          fetch: withinLimit(connection.fetch, maxOutputTokens),
        })(model.providerModel),
      }),
      options: (request) => {
        const effort = request.reasoningEffort ?? (request.reasoningSummary === null ? null : 'medium');
        return {
          ...(effort === null || !mayThink(request) ? {} : { reasoning: effort }),
          providerOptions: { anthropic: { disableParallelToolUse: !request.parallelToolCalls } },
        };
      },
    },
    options,
  );
}

/**
 * The vendor refuses thinking beside a forced tool, and in the middle of a tool loop whose calls came without reasoning
 * of its own: after a change of model, or when the caller supplied the calls.
 */
function mayThink({ messages, tools, toolChoice }: ModelRequest): boolean {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const bare = messages
    .slice(asked + 1)
    .some(
      (message) =>
        message.role === 'assistant' && message.calls.length > 0 && message.reasoning === undefined,
    );
  const forced = tools.length > 0 && toolChoice !== 'auto' && toolChoice !== 'none';
  return !bare && !forced;
}
