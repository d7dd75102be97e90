import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { Pool } from 'pg';

/**
 * Fastify with one prepared select by primary key: the cost of a GET without authentication and
 * authorisation.
 */
const pool = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 6 });
const app = fastify({ logger: false });
app.get<{ Params: { id: string } }>('/responses/:id', async (request, reply) => {
  const { rows } = await pool.query<{ body: string }>({
    name: 'read',
    text: 'select body from plain_responses where id = $1',
    values: [request.params.id],
  });
  return reply.type('application/json; charset=utf-8').send(rows[0]?.body);
});
await app.listen({ host: '127.0.0.1', port: 0, listenTextResolver: () => '' });
console.log(JSON.stringify({ url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` }));
process.stdin.on('end', () => process.exit()).resume();
