alter table outbox drop constraint outbox_kind_check,
  add constraint outbox_kind_check check (kind in ('start', 'cancel', 'signal'));

grant delete on app.sweeps to app_rt;
