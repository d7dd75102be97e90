import type { PromptFile, PromptPart } from '#domain/capabilities/models/model-gateway.ts';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { decodeTextFile } from '#domain/foundation/kernel/text-file.ts';
import type { InputContent } from '#domain/responses/record/output-items.ts';

const dataUrl = /^data:([a-z]+\/[a-z0-9.+-]+);base64,/i;

/** A content part of a stored message as part of a prompt. Text documents are included as text. */
export function toPromptPart(part: InputContent): PromptPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text };
    case 'input_image':
      return { ...fileOf(part.image_url), filename: null, detail: part.detail };
    case 'input_file': {
      const file = fileOf(part.file_data);
      return file.mediaType.startsWith('text/')
        ? { type: 'text', text: `${part.filename}:\n${decodeTextFile(Buffer.from(file.data, 'base64'))}` }
        : { ...file, filename: part.filename, detail: null };
    }
  }
}

function fileOf(url: string): Pick<PromptFile, 'type' | 'mediaType' | 'data'> {
  const [head = '', mediaType = ''] = dataUrl.exec(url) ?? [];
  return { type: 'file', mediaType: mediaType.toLowerCase(), data: url.slice(head.length) };
}

/** Input tokens of a file, by estimate: vendors count images by their pixels and PDF files by their pages. */
export function estimateFile({ mediaType, data, detail }: PromptFile): number {
  if (mediaType.startsWith('image/')) {
    return detail === 'low' ? 100 : 1_000;
  }
  return Math.ceil((data.length * 3) / 4 / 32);
}

const embedded = /"(data:[a-z]+\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]*)"/gi;

/** Tokens of a stored item, by estimate; embedded files count as files, not by their base64 characters. */
export function estimateStored(wire: string): number {
  if (!wire.includes(';base64,')) {
    return estimateTokens(wire);
  }
  let files = 0;
  const rest = wire.replaceAll(embedded, (_all, url: string) => {
    const { mediaType, data } = fileOf(url);
    files += mediaType.startsWith('text/')
      ? Math.ceil((data.length * 3) / 16)
      : estimateFile({ type: 'file', mediaType, data, filename: null, detail: null });
    return '""';
  });
  return files + estimateTokens(rest);
}
