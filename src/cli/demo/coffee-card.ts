import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import type { Client } from '../../client/client.ts'
import type { BalanceEntry } from '../../core/contract/balances.ts'
import type { JoinPage } from '../../core/contract/join-pages.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { CliError } from '../command/cli-error.ts'
import { duration } from '../command/output.ts'
import { call } from '../device/http.ts'
import { readTemplateFile } from '../template/template-file.ts'
import { pushTemplate } from '../template/template-push.ts'
import { installOnPhones, type Stage, scanAtDoor, untilIssued, watchChange } from './scenes.ts'

const example = new URL('../../../examples/coffee-card/', import.meta.url)

export async function showCoffeeCard(stage: Stage, projectId: string): Promise<void> {
  const { step, client } = stage
  const page = await step(
    'Publish a coffee card, and a page where people join',
    () => publishCard(client, projectId),
    ({ url }) => url,
  )
  const pass = await step(
    'Fill in the page as a visitor',
    () => joinOn(page, client),
    ({ label, join }) => `${label} has a card, and agreed to version ${join!.consentVersion}`,
  )
  const phones = await step(
    'Add it to both phones',
    () => installCard(pass.id, stage),
    (files) => `on the phones ${files.map(({ name }) => name).join(' and ')}`,
  )
  await step(
    'Add nine stamps of a paper card',
    () => addStamps(pass.id, 9, 'Paper card', client),
    ({ value }) => `${value} of 10 stamps`,
  )
  await step(
    'Scan it with a phone at the counter, where each visit is a stamp',
    () => watchChange(phones, () => scanAtCounter(pass.id, projectId, stage)),
    ([onIphone]) =>
      `${onIphone!.file.name} shows "${onIphone!.change.banners[0]}" after ${duration(onIphone!.seconds)}`,
  )
  await step(
    'Redeem ten stamps for a coffee',
    () => addStamps(pass.id, -10, 'Free coffee', client),
    ({ value }) => `${value} stamps are left`,
  )
}

async function publishCard(client: Client, projectId: string) {
  const file = await readTemplateFile(fileURLToPath(new URL('template.json', example)))
  const { templateId: id } = await pushTemplate(client, file, { publish: true, projectId })
  const body = JSON.parse(await readFile(new URL('join.json', example), 'utf8'))
  return client.joinPages.set({ params: { id }, body })
}

/** Sends the form of the page, as a browser without scripts does. */
async function joinOn({ slug, url, consent }: JoinPage, client: Client): Promise<Pass> {
  const shown = await call(url)
  const [, token] = /name="-token" value="([\w-]{48})"/.exec(shown.bytes.toString()) ?? []
  if (token === undefined) throw new CliError(`The page ${url} responded with ${shown.status}, and has no form`)
  const form = { '-token': token, '-consent': consent.version, first: 'Inês', favourite: 'Galão' }
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  })
  await body.dump()
  const { items } = await client.passes.list({ query: { joinSlug: slug } })
  if (statusCode !== 303 || items.length !== 1) throw new CliError(`The page responded with ${statusCode}`)
  return items[0]!
}

async function installCard(id: string, stage: Stage) {
  const { hostedLinks } = await untilIssued(id, stage)
  return installOnPhones({ appleLink: hostedLinks.apple!, googleLink: hostedLinks.google! }, stage)
}

async function scanAtCounter(passId: string, projectId: string, stage: Stage) {
  const { doors } = stage.client
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const { code } = await doors.invite({ body: { projectId, gate: 'Counter', expiresAt } })
  return scanAtDoor(await doors.claim({ body: { code, name: 'Counter' } }), passId, stage)
}

async function addStamps(id: string, delta: number, reason: string, client: Client): Promise<BalanceEntry> {
  const body = { delta, externalRef: reason, reason }
  return (await client.balances.createEntry({ params: { id, name: 'stamps' }, body })).entry
}
