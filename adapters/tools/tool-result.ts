import type { CallToolResult } from '@modelcontextprotocol/client';
import { cleanText } from '#domain/kernel/clean-text.ts';

/** What a model is told of a result: its texts; structured content where there is no text; other parts by kind. */
export function resultText(result: CallToolResult): string {
  const parts = result.content.map((part) => {
    switch (part.type) {
      case 'text':
        return part.text;
      case 'image':
      case 'audio':
        return `[${part.type} ${part.mimeType}, ${part.data.length} characters of base64, not shown]`;
      case 'resource_link':
        return `[resource ${part.uri}]`;
      case 'resource':
        return 'text' in part.resource ? part.resource.text : `[resource ${part.resource.uri}]`;
    }
  });
  const structured = result.structuredContent;
  const hasText = result.content.some((part) => part.type === 'text' && part.text !== '');
  return cleanText(
    (hasText || structured === undefined ? parts : [...parts, JSON.stringify(structured)]).join('\n'),
  );
}
