/** One block of an SSE stream, up to and with its blank line. Absent lines are null. */
export interface SseFrame {
  id: string | null;
  event: string | null;
  /** The data line unchanged. */
  data: string | null;
  /** The data as JSON; undefined for other text, as in `[DONE]`. */
  json: Record<string, unknown> | undefined;
  comment: string | null;
  retry: string | null;
  /** The names of its lines in order, `:` for a comment and '' for an invalid line. */
  lines: string[];
  /** The exact text, blank line included. */
  raw: string;
  /** Offset of the byte after it in its buffer. */
  end: number;
}

export interface SplitBytes {
  frames: SseFrame[];
  /** Bytes after the last complete frame: an incomplete frame, or nothing. */
  rest: Uint8Array;
}

/** Splits bytes into frames at blank lines. Only LF ends a line; CR stays in the value, for the checker. */
export function splitFrames(bytes: Uint8Array): SplitBytes {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames: SseFrame[] = [];
  let start = 0;
  for (let end = buffer.indexOf('\n\n'); end !== -1; end = buffer.indexOf('\n\n', start)) {
    frames.push(readFrame(buffer.subarray(start, end + 2).toString('utf8'), end + 2));
    start = end + 2;
  }
  return { frames, rest: bytes.subarray(start) };
}

function readFrame(raw: string, end: number): SseFrame {
  const frame: SseFrame = {
    id: null,
    event: null,
    data: null,
    json: undefined,
    comment: null,
    retry: null,
    lines: [],
    raw,
    end,
  };
  for (const line of raw.slice(0, -2).split('\n')) {
    const colon = line.indexOf(':');
    const name = colon === -1 ? '' : line.slice(0, colon) || ':';
    const value = line.slice(colon + 1).replace(/^ /, '');
    frame.lines.push(name);
    if (name === ':') frame.comment = value;
    else if (name === 'data') frame.data = frame.data === null ? value : `${frame.data}\n${value}`;
    else if (name === 'id' || name === 'event' || name === 'retry') frame[name] = value;
  }
  frame.json = parseObject(frame.data);
  return frame;
}

function parseObject(data: string | null): Record<string, unknown> | undefined {
  if (data === null) return undefined;
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a frame is one event of the stream, or the final `[DONE]`. */
export function isEvent(frame: SseFrame): boolean {
  return frame.data !== null && frame.data !== '[DONE]';
}
