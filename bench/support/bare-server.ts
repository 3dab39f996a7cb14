/**
 * The least that could answer a pass: a bare h3 route with one knex read, behind the listener of the server. Run with the
 * address of a database; prints its own as JSON.
 */
import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'
import { listen } from 'listhen'
import { openDatabase } from '../../src/storage/db/database.ts'

const { reader } = openDatabase(process.argv[2]!)
const app = new H3().get('/v1/passes/:id', (event) => reader('passes').where({ id: event.context.params!.id }).first())
const { url } = await listen(toNodeHandler(app) as Parameters<typeof listen>[0], {
  hostname: '127.0.0.1',
  port: { random: true },
  isProd: true,
  isTest: false,
  showURL: false,
  qr: false,
  publicURL: '',
})
console.log(JSON.stringify({ url: url.replace(/\/$/, '') }))
