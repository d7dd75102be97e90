/** The body, or null when it is longer: the rest is not read then. */
export async function readWithin(response: Response, maxBytes: number): Promise<Buffer | null> {
  const declared = Number(response.headers.get('content-length') ?? 0);
  if (declared > maxBytes && !response.headers.has('content-encoding')) {
    await discard(response);
    return null;
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.byteLength;
    if (length > maxBytes) {
      // Leaving the loop destroys the connection.
      return null;
    }
    parts.push(part);
  }
  return Buffer.concat(parts, length);
}

/** Frees the connection of an answer whose body is of no interest. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}
