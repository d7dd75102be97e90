import helmet, { type FastifyHelmetOptions } from '@fastify/helmet';
import { fastify, type FastifyInstance } from 'fastify';

const options: FastifyHelmetOptions = { contentSecurityPolicy: false, hsts: { maxAge: 31_536_000 } };

/** Helmet's headers on every answer. They are always the same, so helmet is asked for them once. */
export async function sendSecureHeaders(app: FastifyInstance): Promise<void> {
  const headers = await learnHeaders();
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}

/** Answers are for their caller alone, and some hold a key that is shown once: no cache keeps them. */
export function forbidStoring(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('Cache-Control', 'no-store');
    done();
  });
}

async function learnHeaders(): Promise<Record<string, string>> {
  const [plain, dressed] = [await answerOf(), await answerOf(options)];
  return Object.fromEntries(
    Object.entries(dressed).flatMap(([name, value]) =>
      Object.hasOwn(plain, name) ? [] : [[name, String(value)]],
    ),
  );
}

async function answerOf(helmetOptions?: FastifyHelmetOptions) {
  const probe = fastify();
  if (helmetOptions !== undefined) {
    await probe.register(helmet, helmetOptions);
  }
  probe.get('/', (_request, reply) => reply.send(''));
  const { headers } = await probe.inject('/');
  await probe.close();
  return headers;
}
