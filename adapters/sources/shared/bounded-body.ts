/**
 * The body of an answer; null where it, or the length that its header names, has more than `maxBytes`, of which no more
 * is read.
 */
export async function readBody(response: Response, maxBytes: number): Promise<Buffer | null> {
  const encoded = response.headers.has('content-encoding');
  if (!encoded && Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    await discardBody(response);
    return null;
  }
  const { content, isWhole } = await readBeginning(response, maxBytes);
  return isWhole ? content : null;
}

/** As much of the body as `maxBytes`, and whether that is all. */
export async function readBeginning(
  response: Response,
  maxBytes: number,
): Promise<{ content: Buffer; isWhole: boolean }> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    const bytes = part as Uint8Array;
    parts.push(bytes.subarray(0, maxBytes - length));
    length += bytes.byteLength;
    // Leaving the loop cancels the body.
    if (length > maxBytes) {
      return { content: Buffer.concat(parts), isWhole: false };
    }
  }
  return { content: Buffer.concat(parts, length), isWhole: true };
}

/** Ends an answer of which nothing more is needed. */
export async function discardBody(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}
