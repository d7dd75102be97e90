import type { FastifyReply, FastifyRequest } from 'fastify';
import { own } from '#domain/foundation/kernel/own.ts';

const name = '__Host-mcp-auth';
const lifetimeSeconds = 600;
const binding = /^[\w-]{43}$/;

/** Binds a popup to this browser: no script reads the cookie, no other host sets it, no cross-site form sends it. */
export function setPopupCookie(reply: FastifyReply, value: string): void {
  reply.setCookie(name, value, {
    path: '/',
    secure: true,
    httpOnly: true,
    sameSite: 'lax',
    maxAge: lifetimeSeconds,
  });
}

export function popupCookie(request: FastifyRequest): string | null {
  const value = own(request.cookies, name);
  return value !== undefined && binding.test(value) ? value : null;
}
