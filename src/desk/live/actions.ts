import type { PassBalance } from '../../core/contract/balances.ts'
import type { Contract } from '../../core/contract/contract.ts'
import type { Pass } from '../../core/contract/passes.ts'
import type { Door } from '../../core/contract/scans/doors.ts'
import type { ScanItem } from '../../core/contract/schemas/scan-shapes.ts'
import type { Delivery } from '../../core/contract/webhooks/deliveries.ts'
import { currencyDigits } from '../../core/formats.ts'
import type { Route, Scope } from '../../core/route.ts'
import { type Grant, permissionsFor } from '../../core/rules/people/person-roles.ts'
import type { DeskWords } from '../../locales/desk-texts.ts'
import { type Api, ApiRejection, type HistoryEntry } from './desk-api.ts'

/** An input in an action's dialog. */
export interface Field {
  name: string
  label: string
  kind: 'line' | 'text' | 'number'
  /** The initial value; empty by default. */
  value?: string
  isRequired?: true
  /** The bounds and the step of a number, as in an HTML input. By default, any number is valid. */
  min?: number
  max?: number
  step?: number
}

/** The texts that a person entered, by the name of the field. */
export type Values = Readonly<Record<string, string>>

export interface Outcome {
  /** A link to copy. */
  link?: string
  undo?: () => Promise<unknown>
}

interface Call<T> {
  api: Api
  target: T
  values: Values
  /** The ID of the open dialog, sent as an idempotency key, so that a repeated request changes nothing. */
  requestId: string
}

/** An action of a person, which is one call of the API. Its texts are under `actions` in `desk.json`. */
export interface Action<T> {
  route: { [R in keyof Contract]: `${R}.${keyof Contract[R] & string}` }[keyof Contract]
  /** The scope and role of the route. A test compares them with the contract. */
  needs: Pick<Route, 'role' | 'forDoorLeads'> & { scope: Scope }
  fields?(target: T, words: DeskWords): Field[]
  /** Resolves to `undefined` if there is no link, and nothing to undo. */
  run(call: Call<T>): Promise<Outcome | undefined>
  /** Returns the current state of the target, and the changes of the target since the dialog was opened. */
  reload?(api: Api, target: T): Promise<{ target: T; by: HistoryEntry[] }>
}

/**
 * Returns the error for an action that the current state of its target does not allow.
 * @param problem the name of the text under `problems` in `desk.json`
 */
function notNow(problem: 'noLink' | 'balanceChanged'): ApiRejection {
  return new ApiRejection({ status: 409, code: problem, message: problem, waitMs: null })
}

const reason = (words: DeskWords): Field => ({ name: 'reason', label: words.reason, kind: 'line' })

const withReason = ({ reason }: Values) => ({ ...(reason && { reason }) })

/** Trims a text and unifies its line breaks, so that a line break that a browser changed does not count as an edit. */
export function normalizeInput(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').trim()
}

/** Returns the texts and numbers that a form can edit. Variables with a dot in the name belong to the system. */
function editableVariables(variables: Pass['variables']): [string, string | number][] {
  return Object.entries(variables).filter(
    (entry): entry is [string, string | number] =>
      !entry[0].includes('.') && ['string', 'number'].includes(typeof entry[1]),
  )
}

/** Returns the number of minor units in one unit of a currency, such as 100 for EUR; 1 without a currency. */
function minorUnits(currency: string | null): number {
  return currency === null ? 1 : 10 ** currencyDigits(currency)
}

const HOUR_MS = 3_600_000

const MAX_PHONES = 1000
const MAX_HOURS = 30 * 24

function action<T>(definition: Action<T>): Action<T> {
  return definition
}

export const actions = {
  copyLink: action<Pass>({
    route: 'passes.get',
    // Require a write scope, so that a person who can only read cannot hand out links.
    needs: { scope: 'passes:write' },
    async run({ api, target: { id } }) {
      const { hostedLinks } = await api.passes.get({ params: { id } })
      if (hostedLinks.smart === null) throw notNow('noLink')
      return { link: hostedLinks.smart }
    },
  }),
  correct: action<Pass>({
    route: 'passes.update',
    needs: { scope: 'passes:write' },
    fields: ({ label, variables }, words) => [
      { name: 'label', label: words.name, kind: 'line', value: label, isRequired: true },
      ...editableVariables(variables).map(
        ([name, value]): Field => ({
          name: `variable ${name}`,
          label: name,
          kind: typeof value === 'number' ? 'number' : /[\r\n]/.test(value) ? 'text' : 'line',
          value: String(value),
        }),
      ),
    ],
    async run({ api, target, values }) {
      const params = { id: target.id }
      const changed = editableVariables(target.variables).filter(
        ([name, value]) => values[`variable ${name}`] !== normalizeInput(String(value)),
      )
      const toNew = ([name, value]: [string, string | number]) => {
        const text = values[`variable ${name}`] ?? ''
        return [name, typeof value === 'number' ? Number(text) : text]
      }
      const isRenamed = values.label !== normalizeInput(target.label)
      const { revision } = await api.passes.update({
        params,
        headers: { 'if-match': `"${target.revision}"` },
        body: { label: isRenamed ? values.label! : target.label, variables: Object.fromEntries(changed.map(toNew)) },
      })
      if (revision === target.revision) return undefined
      const former = { label: target.label, variables: Object.fromEntries(changed) }
      return { undo: () => api.passes.update({ params, headers: { 'if-match': `"${revision}"` }, body: former }) }
    },
    async reload(api, { id, updatedAt }) {
      const [target, { items }] = await Promise.all([api.passes.get({ params: { id } }), api.listHistory(id)])
      // Ignore messages to the holder, because they do not change the pass.
      const isChange = ({ at, action }: HistoryEntry) => at > updatedAt && !/^(notification|broadcast)\./.test(action)
      return { target, by: items.filter(isChange) }
    },
  }),
  changeBalance: action<PassBalance & { passId: string }>({
    route: 'balances.createEntry',
    needs: { scope: 'passes:write' },
    fields: ({ currency }, words) => [
      { name: 'amount', label: words.amount, kind: 'number', step: 1 / minorUnits(currency), isRequired: true },
      reason(words),
    ],
    async run({ api, target: { passId: id, name, currency }, values, requestId }) {
      const delta = Math.round(Number(values.amount) * minorUnits(currency))
      const { entry } = await api.balances.createEntry({
        params: { id, name },
        body: { delta, externalRef: requestId, ...withReason(values) },
      })
      // If the server saved an earlier request of this dialog but its response was lost, `entry` has the amount of that
      // request.
      if (entry.delta !== delta) throw notNow('balanceChanged')
      const params = { id, name, entryId: entry.id }
      return { undo: () => api.balances.reverseEntry({ params, body: { externalRef: `${requestId}-undo` } }) }
    },
  }),
  notify: action<Pass>({
    route: 'notifications.create',
    needs: { scope: 'pass-notifications:write' },
    fields: (_, words) => [{ name: 'message', label: words.message, kind: 'text', isRequired: true }],
    run: async ({ api, target: { id }, values, requestId }) =>
      void (await api.notifications.create({
        params: { id },
        body: { body: values.message!, idempotencyKey: requestId },
      })),
  }),
  revokeLinks: action<Pass>({
    route: 'passes.revokeLinks',
    needs: { scope: 'passes:write' },
    run: async ({ api, target: { id } }) => void (await api.passes.revokeLinks({ params: { id } })),
  }),
  voidPass: action<Pass>({
    route: 'passes.void',
    needs: { scope: 'passes:write' },
    fields: (_, words) => [reason(words)],
    run: async ({ api, target: { id }, values }) =>
      void (await api.passes.void({ params: { id }, body: withReason(values) })),
  }),
  reverseScan: action<ScanItem>({
    route: 'scans.reverse',
    needs: { scope: 'scans:write' },
    fields: (_, words) => [reason(words)],
    run: async ({ api, target: { id }, values }) =>
      void (await api.scans.reverse({ params: { id }, body: withReason(values) })),
  }),
  inviteDoor: action<{ projectId: string; now: () => Date }>({
    route: 'doors.invite',
    needs: { scope: 'scans:write', role: 'owner', forDoorLeads: true },
    fields: (_, words) => [
      { name: 'gate', label: words.gate, kind: 'line', isRequired: true },
      { name: 'phones', label: words.phones, kind: 'number', value: '1', min: 1, max: MAX_PHONES, step: 1 },
      { name: 'hours', label: words.validHours, kind: 'number', value: '12', min: 1, max: MAX_HOURS, step: 1 },
    ],
    async run({ api, target: { projectId, now }, values }) {
      const expiresAt = new Date(now().getTime() + Number(values.hours) * HOUR_MS).toISOString()
      const { id, url } = await api.doors.invite({
        body: { projectId, gate: values.gate!, uses: Number(values.phones), expiresAt },
      })
      return { link: url, undo: () => api.doors.endInvitation({ params: { id } }) }
    },
  }),
  revokeDoor: action<Door>({
    route: 'doors.revoke',
    needs: { scope: 'scans:write', role: 'owner', forDoorLeads: true },
    run: async ({ api, target: { id } }) => void (await api.doors.revoke({ params: { id } })),
  }),
  redeliver: action<Delivery>({
    route: 'deliveries.redeliver',
    needs: { scope: 'webhooks:write' },
    run: async ({ api, target: { id } }) => void (await api.deliveries.redeliver({ params: { id } })),
  }),
  cancelBroadcast: action<{ id: string; projectId: string }>({
    route: 'broadcasts.cancel',
    needs: { scope: 'pass-notifications:write' },
    run: async ({ api, target: { id, projectId } }) =>
      void (await api.broadcasts.cancel({ params: { id: projectId, broadcastId: id } })),
  }),
}

export type ActionName = keyof typeof actions
export type TargetOf<N extends ActionName> = (typeof actions)[N] extends Action<infer T> ? T : never

/** The server checks the roles again. */
export function isPermitted(name: ActionName, grants: readonly Grant[], projectId: string | null): boolean {
  const { needs } = actions[name]
  const { scopes, role, projectIds } = permissionsFor(grants, needs as Parameters<typeof permissionsFor>[1])
  const hasRole = needs.role === undefined || needs.role === role
  return scopes.includes(needs.scope) && hasRole && (projectIds === null || projectIds.includes(projectId ?? ''))
}
