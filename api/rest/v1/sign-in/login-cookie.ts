import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { own } from '#domain/foundation/kernel/own.ts';

const name = '__Host-login';
const lifetimeSeconds = 600;
const deviceName = '__Host-device';
/** As long as browsers keep any cookie. */
const deviceSeconds = 400 * 86_400;
const binding = /^[\w-]{43}$/;

/** Binds a sign-in to this browser: no script reads it, no other host sets it, no foreign form brings it along. */
export function setLoginCookie(reply: FastifyReply, value: string): void {
  set(reply, name, value, lifetimeSeconds);
}

export function loginCookie(request: FastifyRequest): string | null {
  return read(request, name);
}

/** What tells this browser from others at its next sign-in; it proves nothing. */
export function deviceCookie(request: FastifyRequest): string {
  return read(request, deviceName) ?? randomBytes(32).toString('base64url');
}

export function setDeviceCookie(reply: FastifyReply, value: string): void {
  set(reply, deviceName, value, deviceSeconds);
}

/** Answers of a sign-in are nobody's to keep or to pass on. */
export function disableCaching(reply: FastifyReply): void {
  reply.header('Cache-Control', 'no-store').header('Referrer-Policy', 'no-referrer');
}

function set(reply: FastifyReply, cookie: string, value: string, maxAge: number): void {
  reply.setCookie(cookie, value, { path: '/', secure: true, httpOnly: true, sameSite: 'lax', maxAge });
}

function read(request: FastifyRequest, cookie: string): string | null {
  const value = own(request.cookies, cookie);
  return value !== undefined && binding.test(value) ? value : null;
}
