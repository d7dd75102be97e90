import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { own } from '#domain/foundation/kernel/own.ts';

const name = '__Host-login';
const lifetimeSeconds = 600;
const deviceName = '__Host-device';
/** The max lifetime of a cookie in browsers. */
const deviceSeconds = 400 * 86_400;
const binding = /^[\w-]{43}$/;

/** Binds a sign-in to this browser: no script reads the cookie, no other host sets it, no cross-site form sends it. */
export function setLoginCookie(reply: FastifyReply, value: string): void {
  set(reply, name, value, lifetimeSeconds);
}

export function loginCookie(request: FastifyRequest): string | null {
  return read(request, name);
}

/** Identifies this browser at its next sign-in; it authenticates nobody. */
export function deviceCookie(request: FastifyRequest): string {
  return read(request, deviceName) ?? randomBytes(32).toString('base64url');
}

export function setDeviceCookie(reply: FastifyReply, value: string): void {
  set(reply, deviceName, value, deviceSeconds);
}

/** Answers of a sign-in must not be cached, and their address must not leak as a referrer. */
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
