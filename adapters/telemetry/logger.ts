import { pino, type Logger } from 'pino';

const secretShapes =
  /\b(ak|at|rt|n1)\.[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]+)?|\beyJ[\w-]+\.[\w-]+\.[\w-]+|Bearer\s+\S+/g;

/** Structured logs. What looks like a credential is cut out last, wherever it came from. */
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
    hooks: { streamWrite: (line) => line.replace(secretShapes, '***') },
  });
}
