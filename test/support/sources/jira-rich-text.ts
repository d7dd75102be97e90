/** A node of rich text as the service sends it. */
export function node(type: string, content: unknown[] = [], attrs?: object): object {
  return { type, ...(attrs !== undefined && { attrs }), ...(content.length > 0 && { content }) };
}

export function words(text: string, marks?: object[]): object {
  return { type: 'text', text, ...(marks !== undefined && { marks }) };
}

/** A document of one paragraph for each line; null for an empty text, as the service has it. */
export function richTextOf(text: string): object | null {
  const paragraphs = text.split('\n').map((line) => node('paragraph', line === '' ? [] : [words(line)]));
  return text === '' ? null : { version: 1, ...node('doc', paragraphs) };
}
