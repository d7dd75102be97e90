import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import type { ContentLimits } from '#domain/knowledge/collections/collection-limits.ts';
import { documentMediaTypes, type DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';

/** Max document size of each type that this gateway accepts. */
export function contentLimitsOf(config: GatewayConfig): ContentLimits {
  const lower: Partial<Record<DocumentMediaType, number | undefined>> = {
    'text/plain': config.MAX_PLAIN_TEXT_BYTES,
    'text/markdown': config.MAX_MARKDOWN_BYTES,
    'text/html': config.MAX_HTML_BYTES,
  };
  const all = config.MAX_UPLOAD_BYTES;
  return Object.fromEntries(
    documentMediaTypes.map((mediaType) => [mediaType, Math.min(lower[mediaType] ?? all, all)]),
  ) as Record<DocumentMediaType, number>;
}
