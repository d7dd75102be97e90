import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import { contentLimits, type ContentLimits } from '#domain/knowledge/collections/collection-limits.ts';

/** Max document size of each type that this gateway accepts. */
export function contentLimitsOf(config: GatewayConfig): ContentLimits {
  return {
    ...contentLimits,
    'text/plain': config.MAX_PLAIN_TEXT_BYTES,
    'text/markdown': config.MAX_MARKDOWN_BYTES,
    'text/html': config.MAX_HTML_BYTES,
  };
}
