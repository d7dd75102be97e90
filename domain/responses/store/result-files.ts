import type { InputModality, PromptFile } from '#domain/capabilities/models/model-gateway.ts';
import type { ToolMedia } from '#domain/capabilities/tools/tool-server.ts';

/** The images and sounds of a tool's result that the model accepts; the result's text names each. */
export function resultFiles(media: readonly ToolMedia[], accepted: readonly InputModality[]): PromptFile[] {
  return media.flatMap(({ mediaType, data }): PromptFile[] => {
    const kind = mediaType.startsWith('image/') ? 'image' : 'audio';
    return accepted.includes(kind) ? [{ type: 'file', mediaType, data, filename: null, detail: null }] : [];
  });
}
