# delayed_job with Active Record, without its worker's loop: see ./run, which starts this.
#   delayed_job.rb tables               makes the table as its migration does, with one job
#   delayed_job.rb work W SECONDS DIR   W processes reserve and destroy from the moment stdin ends
require 'logger'
require 'active_record'
require 'delayed_job_active_record'

Job = Struct.new(:x) do
  def perform; end
end

def connect
  login = File.readlines(ENV.fetch('PEERS_OPTIONS'), chomp: true).grep(/=/)
              .to_h { |line| line.split('=', 2) }
  ActiveRecord::Base.default_timezone = :utc
  ActiveRecord::Base.establish_connection(
    adapter: 'mysql2', encoding: 'utf8mb4', pool: 1, prepared_statements: false,
    socket: login['socket'].delete('"'), username: login['user'],
    password: login['password'], database: login['database']
  )
end

def make_tables
  connect
  ActiveRecord::Schema.verbose = false
  ActiveRecord::Schema.define do
    create_table :delayed_jobs do |table|
      table.integer :priority, default: 0, null: false
      table.integer :attempts, default: 0, null: false
      table.text :handler, null: false
      table.text :last_error
      table.datetime :run_at
      table.datetime :locked_at
      table.datetime :failed_at
      table.string :locked_by
      table.string :queue
      table.timestamps null: true
    end
    add_index :delayed_jobs, %i[priority run_at], name: 'delayed_jobs_priority'
  end
  Delayed::Job.enqueue(Job.new)
end

def fault(lines, where, error)
  lines << "error\t#{where}\t#{error.message.tr("\t\n", '  ')}"
end

# Tries a delete again that failed: otherwise the job would be given a second time.
def destroy(job, lines)
  10.times do
    job.destroy
    return true
  rescue StandardError => e
    fault(lines, 'delete', e)
  end
  false
end

# Returns :job, :empty (no job was left) or :error.
def reserve_and_destroy(worker, lines)
  began = clock
  job = Delayed::Job.reserve(worker)
  return :empty unless job

  done = destroy(job, lines)
  lines << (done ? format("job\t%d\t%.3f", job.id, (clock - began) * 1000) : "given\t#{job.id}")
  :job
rescue StandardError => e
  fault(lines, 'pop', e)
  :error
end

def clock
  Process.clock_gettime(Process::CLOCK_REALTIME)
end

def work(number, seconds, dir)
  connect
  Delayed::Job.connection.select_value('SELECT 1')
  Delayed::Job.columns
  worker = Delayed::Worker.new
  lines = []
  empty = 0
  $stdout.syswrite("ready\n")
  $stdin.read
  begun = now = clock
  while now - begun < seconds
    empty += 1 if reserve_and_destroy(worker, lines) == :empty
    now = clock
  end
  lines << format("worker\t%.6f\t%.6f\t%d", begun, now, empty)
  File.write("#{dir}/#{number}", "#{lines.join("\n")}\n")
end

def start(workers, seconds, dir)
  (1..workers).each { |number| fork { work(number, seconds, dir) } }
  exit Process.waitall.all? { |_, status| status.success? }
end

case ARGV
in ['tables'] then make_tables
in ['work', workers, seconds, dir] then start(workers.to_i, seconds.to_f, dir)
else abort 'delayed_job.rb: tables, or work W SECONDS DIR'
end
