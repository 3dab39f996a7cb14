import type { Contract } from '../core/contract/contract.ts'
import type { Route } from '../core/route.ts'
import recorded from './endpoints.json' with { type: 'json' }

/** The properties of a route that a client needs to send requests. */
export interface Endpoint
  extends Pick<Route, 'method' | 'path' | 'idempotent' | 'compressed' | 'files' | 'eventStream' | 'errorsWithoutCode'> {
  /** Set if the request body is a file instead of JSON. */
  rawBody?: true
}

type Of<Value> = { readonly [R in keyof Contract]: { readonly [O in keyof Contract[R]]: Value } }

/**
 * The routes of the contract without its schemas: loading the schemas would take several times as long as a small
 * request. A test checks that `endpoints.json` matches the contract.
 */
export const endpoints = recorded satisfies Of<{ method: string; path: string }> as Of<Endpoint>

/** Returns an object like the contract, with a method for each endpoint. */
export function forEachEndpoint(methodOf: (endpoint: Endpoint) => unknown): object {
  const resources = Object.entries(endpoints).map(([resource, operations]) => [
    resource,
    Object.fromEntries(
      Object.entries(operations).map(([name, endpoint]: [string, Endpoint]) => [name, methodOf(endpoint)]),
    ),
  ])
  return Object.fromEntries(resources)
}

/** Returns the path of a request, with its parameters filled in and its query appended. */
export function pathOf(
  { path: pattern }: Pick<Endpoint, 'path'>,
  { params, query: given = {} }: { params?: Record<string, unknown>; query?: Record<string, unknown> },
): string {
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params?.[name])))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined) query.append(name, String(item))
    }
  }
  return query.size > 0 ? `${path}?${query}` : path
}
