import type { FastifyReply, FastifyRequest } from 'fastify';

const name = '__Host-login';
const lifetimeSeconds = 600;
const binding = /^[\w-]{43}$/;

/** Binds a sign-in to this browser: no script reads it, no other host sets it, no foreign form brings it along. */
export function setLoginCookie(reply: FastifyReply, value: string): void {
  reply.setCookie(name, value, {
    path: '/',
    secure: true,
    httpOnly: true,
    sameSite: 'lax',
    maxAge: lifetimeSeconds,
  });
}

export function loginCookie(request: FastifyRequest): string | null {
  const value = request.cookies[name];
  return value !== undefined && binding.test(value) ? value : null;
}

/** Answers of a sign-in are nobody's to keep or to pass on. */
export function keepPrivate(reply: FastifyReply): void {
  reply.header('Cache-Control', 'no-store').header('Referrer-Policy', 'no-referrer');
}
