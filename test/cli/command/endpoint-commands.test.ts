import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Contract, contract } from '../../../src/core/contract/contract.ts'

type Operation = { [R in keyof Contract]: `${R}.${keyof Contract[R] & string}` }[keyof Contract]

/** Which command a person calls for each endpoint of the interface. */
const commands: Record<Operation, string> = {
  'projects.list': 'project list',
  'projects.create': 'project create',
  'projects.get': 'project get',
  'projects.update': 'project update',
  'projects.delete': 'project delete',
  'projects.stats': 'project stats',
  'templates.list': 'template list',
  'templates.create': 'template create',
  'templates.get': 'template get',
  'templates.update': 'template update',
  'templates.delete': 'template delete',
  'templates.createVersion': 'template push',
  'templates.variablesSchema': 'template schema',
  'templateVersions.list': 'template versions',
  'templateVersions.get': 'template versions',
  'templateVersions.update': 'template push',
  'templateVersions.delete': 'template delete-draft',
  'templateVersions.publish': 'template publish',
  'templateVersions.preview': 'template preview',
  'images.create': 'image upload',
  'passes.create': 'pass create',
  'passes.createBatch': 'issue',
  'passes.get': 'pass get',
  'passes.list': 'pass list',
  'passes.update': 'pass update',
  'passes.void': 'pass void',
  'passes.revokeLinks': 'pass revoke-links',
  'passes.wallets': 'pass wallets',
  'passes.preview': 'pass preview',
  'notifications.create': 'notify',
  'notifications.list': 'notification list',
  'notifications.get': 'notification get',
  'notifications.cancel': 'notification cancel',
  'broadcasts.create': 'broadcast send',
  'broadcasts.list': 'broadcast list',
  'broadcasts.get': 'broadcast get',
  'broadcasts.stats': 'broadcast get',
  'broadcasts.cancel': 'broadcast cancel',
  'webhooks.list': 'webhook list',
  'webhooks.create': 'webhook create',
  'webhooks.get': 'webhook get',
  'webhooks.update': 'webhook update',
  'webhooks.delete': 'webhook delete',
  'webhooks.enable': 'webhook enable',
  'webhooks.disable': 'webhook disable',
  'webhooks.test': 'webhook test',
  'webhooks.rotateSecret': 'webhook rotate-secret',
  // With --webhook it asks for the same rows under the path of all deliveries.
  'webhooks.listDeliveries': 'webhook deliveries',
  'deliveries.list': 'webhook deliveries',
  'deliveries.get': 'webhook deliveries',
  'deliveries.redeliver': 'webhook redeliver',
  'scans.create': 'scan',
  'scans.list': 'scans list',
  'scans.stats': 'scans stats',
  'scans.get': 'scans get',
  'scans.reverse': 'scans reverse',
  'scans.explain': 'pass explain',
  // What the door console does by itself, so that it can go on offline.
  'scanner.snapshot': 'scan',
  'scanner.report': 'scan',
  'tokens.current': 'whoami',
  'workspace.get': 'workspace show',
}

const operations = Object.entries(contract).flatMap(([resource, routes]) =>
  Object.keys(routes).map((operation) => `${resource}.${operation}`),
)

test.each(operations)('%s has a command, which exists', (operation) => {
  const command = commands[operation as Operation]
  expect(command, 'add the endpoint to the table, with its command').toBeDefined()
  const file = new URL(`../../../src/commands/${command.replaceAll(' ', '/')}.ts`, import.meta.url)
  expect(existsSync(file), `passes ${command}`).toBe(true)
})

test('the table names no endpoint that is gone', () => {
  expect(Object.keys(commands).filter((operation) => !operations.includes(operation))).toEqual([])
})
