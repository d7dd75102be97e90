import { pino, type Logger } from 'pino';

const secretShapes = /\b(?:ak|at|rt|n1)\.[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)?|Bearer\s+\S+/g;
/** Anchored at the start of a word, so that a long word is scanned once. */
const threeParts = /(?<![\w-])[\w-]+(?:\.[\w-]+){2,}/g;

function withoutSecrets(line: string): string {
  return line.replace(secretShapes, '***').replace(threeParts, (parts) => parts.replace(/\beyJ.*$/s, '***'));
}

/** Structured logs. Text that looks like a credential is removed last, whatever its source. */
export function createLogger(name: string, level: string): Logger {
  return pino({
    name,
    level,
    redact: {
      paths: [
        '*.authorization',
        '*["x-api-key"]',
        '*.cookie',
        '*.password',
        '*.secret',
        'req.headers',
        'req.url',
      ],
      censor: '***',
    },
    hooks: { streamWrite: withoutSecrets },
  });
}

/** Describes the error that ended a process: names and places, never a message, which may quote content. */
export function describeFault(error: unknown): { error: string; cause?: string; frames: string[] } {
  if (!(error instanceof Error)) {
    return { error: typeof error, frames: [] };
  }
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '));
  return {
    error: error.name,
    ...(error.cause instanceof Error ? { cause: error.cause.name } : {}),
    frames: frames.slice(0, 6).map((line) => line.trim()),
  };
}
