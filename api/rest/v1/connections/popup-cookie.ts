import type { FastifyReply, FastifyRequest } from 'fastify';
import { own } from '#domain/foundation/kernel/own.ts';

/** Of one attempt: popups that are open at the same time in one browser keep one each. */
const nameOf = (attemptId: string) => `__Host-mcp-auth-${attemptId}`;
const lifetimeSeconds = 600;
const binding = /^[\w-]{43}$/;
const options = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const;

/** Binds a popup to this browser: no script reads the cookie, no other host sets it, no cross-site form sends it. */
export function setPopupCookie(reply: FastifyReply, attemptId: string, value: string): void {
  reply.setCookie(nameOf(attemptId), value, { ...options, maxAge: lifetimeSeconds });
}

export function clearPopupCookie(reply: FastifyReply, attemptId: string): void {
  reply.clearCookie(nameOf(attemptId), options);
}

export function popupCookie({ cookies }: FastifyRequest, attemptId: string): string | null {
  const value = own(cookies, nameOf(attemptId));
  return value !== undefined && binding.test(value) ? value : null;
}
